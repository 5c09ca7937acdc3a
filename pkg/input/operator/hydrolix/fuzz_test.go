package hydrolix

import "testing"

// FuzzReadProfile looks for profiles that make the reader panic.
func FuzzReadProfile(f *testing.F) {
	f.Add([]byte(smallProfile))
	f.Fuzz(func(t *testing.T, data []byte) {
		if profile, err := ReadProfile("fuzz.yaml", data); (profile == nil) != (err != nil) {
			t.Errorf("profile %v with the error %v", profile, err)
		}
	})
}
