package report

import (
	"cmp"
	"strings"

	v1 "k8s.io/api/core/v1"
)

const (
	region   = v1.LabelTopologyRegion
	zone     = v1.LabelTopologyZone
	hostname = v1.LabelHostname
)

// maxDomains is how many failure domains are named one by one on a line of their own, maxCellDomains in a table.
const (
	maxDomains     = 12
	maxCellDomains = 6
)

// noun is what a failure domain of the level is called.
func noun(key string) string {
	switch key {
	case region:
		return "region"
	case zone:
		return "zone"
	case hostname:
		return "node"
	}
	return "domain"
}

// domainNoun is what a failure domain is called, by the short name of its level where there is no word for it.
func domainNoun(key, short string) string {
	if word := noun(key); word != "domain" {
		return word
	}
	return short
}

// levelName is zone for topology.kubernetes.io/zone, and node for kubernetes.io/hostname.
func levelName(key string) string { return domainNoun(key, shorts([]string{key})[0]) }

// domainOf is what a domain of the level is called: zone, or a key of its own.
func domainOf(level string) string {
	if word := noun(level); word != "domain" {
		return word
	}
	return level
}

// levelWord names a level's domains: region, zone, node, or the key's last part.
func levelWord(key string) string {
	if key == hostname {
		return "node"
	}
	return key[strings.LastIndex(key, "/")+1:]
}

// heads are the column heads of topology keys: ZONE for topology.kubernetes.io/zone, as kubectl's -L has it.
func heads(keys []string) []string {
	titles := shorts(keys)
	for i := range titles {
		titles[i] = strings.ToUpper(titles[i])
	}
	return titles
}

// shorts are the topology keys without what stands before their last slash, or whole where another one ends alike.
func shorts(keys []string) []string {
	last := func(key string) string { return key[strings.LastIndex(key, "/")+1:] }
	short := make([]string, len(keys))
	for i, key := range keys {
		short[i] = last(key)
		for j, other := range keys {
			if i != j && last(other) == short[i] {
				short[i] = key
			}
		}
	}
	return short
}

// domainsText names domains that fail together. A domain may be the empty value of a label.
func domainsText(domains []string) string {
	names := make([]string, len(domains))
	for i, domain := range domains {
		names[i] = cmp.Or(domain, `""`)
	}
	return strings.Join(names, " + ")
}
