package scenario

// What the tests that load scenarios use of those that look at the schema.
const Docs = docs

var (
	Fenced           = fenced
	ReadDocs         = readDocs
	CompileSchema    = compileSchema
	ValidateDocument = validate
)
