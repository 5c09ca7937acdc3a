package scenario

// Docs and the variables below let tests that load scenarios use helpers of the tests of the schema.
const Docs = docs

var (
	Fenced           = fenced
	ReadDocs         = readDocs
	CompileSchema    = compileSchema
	ValidateDocument = validate
)
