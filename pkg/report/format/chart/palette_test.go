package chart

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"regexp"
	"testing"
)

// pageColours returns the colours of the variables of the pages' style sheet: for a light page and for a dark one.
func pageColours(t *testing.T) (light, dark map[string]color.RGBA) {
	t.Helper()
	css, err := os.ReadFile("../../../web/shared/page.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark = map[string]color.RGBA{}, map[string]color.RGBA{}
	variable := regexp.MustCompile(`(?m)^  --([a-z-]+): (?:light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)|(#[0-9a-f]{6}));`)
	for _, found := range variable.FindAllStringSubmatch(string(css), -1) {
		light[found[1]], dark[found[1]] = parseColour(t, found[2]+found[4]), parseColour(t, found[3]+found[4])
	}
	return light, dark
}

func parseColour(t *testing.T, text string) color.RGBA {
	t.Helper()
	c := color.RGBA{A: 0xff}
	if _, err := fmt.Sscanf(text, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return c
}

// What a page and a picture draw has the same colours.
func TestPageHasTheColoursOfPictures(t *testing.T) {
	light, dark := pageColours(t)
	for name, want := range map[string]color.Color{"fill": palette[0], "fill-warn": palette[1], "fill-good": palette[2], "fill-bad": vermilion} {
		if light[name] != want || dark[name] != want {
			t.Errorf("--%s is %v on a light page and %v on a dark one, want %v", name, light[name], dark[name], want)
		}
	}
}

// Text has the contrast that WCAG asks of small text, and a reader without receptors for green can tell good, doubtful and bad apart.
func TestColoursForEveryReader(t *testing.T) {
	// leastContrast is WCAG's for text. leastDifference is a distance in CIE L*a*b*, where 2.3 is just visible.
	const leastContrast, leastDifference = 4.5, 15
	light, dark := pageColours(t)
	for theme, colours := range map[string]map[string]color.RGBA{"light": light, "dark": dark} {
		roles := []string{"accent", "good", "warn", "bad"}
		for _, name := range append(roles, "ink", "muted") {
			for _, on := range []string{"page", "surface", "raised"} {
				if c := contrast(colours[name], colours[on]); c < leastContrast {
					t.Errorf("%s: --%s on --%s has a contrast of %.2f, want %.1f", theme, name, on, c, leastContrast)
				}
			}
		}
		for _, prefix := range []string{"", "fill-"} {
			for i, name := range roles {
				for _, other := range roles[i+1:] {
					name, other := prefix+name, prefix+other
					if name == "fill-accent" {
						name = "fill"
					}
					if d := difference(colours[name], colours[other]); d < leastDifference {
						t.Errorf("%s: with deuteranopia --%s and --%s differ by %.1f, want %d", theme, name, other, d, leastDifference)
					}
				}
			}
		}
	}
}

// linear returns the light of the three colours of a screen: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance.
func linear(c color.RGBA) [3]float64 {
	var light [3]float64
	for i, value := range []uint8{c.R, c.G, c.B} {
		if v := float64(value) / 255; v <= 0.04045 {
			light[i] = v / 12.92
		} else {
			light[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return light
}

func contrast(a, b color.RGBA) float64 {
	luminance := func(c color.RGBA) float64 {
		l := linear(c)
		return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// difference returns how far two colours are apart for a reader with deuteranopia, by the matrix of Machado, Oliveira and Fernandes (2009):
// https://www.inf.ufrgs.br/~oliveira/pubs_files/CVD_Simulation/CVD_Simulation.html.
func difference(a, b color.RGBA) float64 {
	deuteranopia := [3][3]float64{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}
	seen := func(c color.RGBA) [3]float64 {
		var light [3]float64
		for i, row := range deuteranopia {
			for j, value := range linear(c) {
				light[i] += row[j] * value
			}
			light[i] = min(max(light[i], 0), 1)
		}
		return light
	}
	x, y := lab(seen(a)), lab(seen(b))
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

// lab returns the colour in CIE L*a*b* for the white of a screen, D65.
func lab(light [3]float64) [3]float64 {
	xyz := [3]float64{
		(0.4124*light[0] + 0.3576*light[1] + 0.1805*light[2]) / 0.95047,
		0.2126*light[0] + 0.7152*light[1] + 0.0722*light[2],
		(0.0193*light[0] + 0.1192*light[1] + 0.9505*light[2]) / 1.08883,
	}
	for i, v := range xyz {
		if v > 0.008856 {
			xyz[i] = math.Cbrt(v)
		} else {
			xyz[i] = 7.787*v + 16.0/116
		}
	}
	return [3]float64{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}
