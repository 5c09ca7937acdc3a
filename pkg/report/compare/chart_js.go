package compare

// draw is missing where a page draws its own pictures: their fonts and their library are 3 MB of a download.
var draw func(r *Report, format string) ([]byte, error)
