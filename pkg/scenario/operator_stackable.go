package scenario

// StackableOptions are what the operators of the Stackable Data Platform are given besides their resources.
type StackableOptions struct {
	// ADR asks for the rules of the platform's decision record ADR026 where the operators' code parts from it: true or false.
	// Default: false, as the operators are.
	ADR bool `json:"adr,omitempty"`
}
