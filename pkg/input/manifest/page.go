package manifest

import (
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/list"
)

// An API server answers a request with a limit with a page: a List whose metadata.continue names the next page. kubectl get reads all pages and
// joins them; curl and kubectl get --raw do not. All pages of a list have the same resourceVersion.

// page is a List as a page of a longer one.
type page struct {
	kind, resourceVersion string
	last                  bool
	source                Source
}

// asPage returns the item that stands for the List itself.
func (it item) asPage() item {
	h := it.header
	return item{page: &page{h.Kind, h.Metadata.ResourceVersion, h.Metadata.Continue == "", it.source}}
}

// movePages moves the Lists themselves from the outcomes to the pages.
func (d *decoded) movePages() {
	isPage := func(o outcome) bool { return o.page != nil }
	for _, o := range list.Where(d.outcomes, isPage) {
		d.pages = append(d.pages, *o.page)
	}
	d.outcomes = slices.DeleteFunc(d.outcomes, isPage)
}

// unfinishedPages returns an error for each page whose last page is not among them: the objects behind it are missing.
func unfinishedPages(pages []page) (errs []error) {
	id := func(p page) string { return p.kind + " " + p.resourceVersion }
	ended := list.KeySet(list.Where(pages, func(p page) bool { return p.last }), id)
	for _, p := range pages {
		if !p.last && !ended[id(p)] {
			ended[id(p)] = true // named once
			errs = append(errs, p.source.errorf("%s is one page of a longer list, whose next page metadata.continue names; give all %ss, as kubectl get -o json writes them",
				p.kind, strings.TrimSuffix(p.kind, "List")))
		}
	}
	return errs
}
