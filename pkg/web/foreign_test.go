package web_test

import (
	"net/http/httptest"
	"testing"
)

// Browsers send no Origin with some requests of other pages, but they send Sec-Fetch-Site. Any page may send what a form may send.
func TestRequestsOfOtherPagesAreRefused(t *testing.T) {
	for _, test := range []struct {
		name, site, content string
		status              int
	}{
		{"a program that is no browser", "", "application/json", 200},
		{"the page", "same-origin", "application/json", 200},
		{"another page", "cross-site", "application/json", 403},
		{"a page of the same site", "same-site", "application/json", 403},
		{"a bookmark", "none", "application/json", 403},
		{"text of a form", "", "text/plain", 415},
		{"fields of a form", "", "application/x-www-form-urlencoded", 415},
		{"files of a form", "", "multipart/form-data; boundary=x", 415},
		{"nobody says what", "", "", 415},
	} {
		r := request("POST", "/api/load", "{}", "Content-Type", test.content, "Sec-Fetch-Site", test.site)
		r.Header.Del("Origin")
		recorder := httptest.NewRecorder()
		if newServer().ServeHTTP(recorder, r); recorder.Code != test.status {
			t.Errorf("%s: %d, want %d", test.name, recorder.Code, test.status)
		}
	}
}
