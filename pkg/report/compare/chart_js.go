package compare

// draw is nil in WebAssembly, where a page draws its own pictures: the library and its fonts would add 3 MB to the download.
var draw func(r *Report, format string) ([]byte, error)
