package scenario

// Operators says what the operators that expand custom resources are given besides them.
type Operators struct {
	// Stackable is for the operators of the Stackable Data Platform.
	Stackable StackableOptions `json:"stackable,omitempty"`
}

// StackableOptions are what the operators of the Stackable Data Platform are given besides their resources.
type StackableOptions struct {
	// ADR asks for the rules of the platform's decision record ADR026 where the operators' code parts from it: true or false.
	// Default: false, as the operators are.
	ADR bool `json:"adr,omitempty"`
}

// add is what the scenario says of Stackable, besides what the command line says.
func (o *StackableOptions) add(to *OperatorOptions) { to.Stackable.ADR = to.Stackable.ADR || o.ADR }
