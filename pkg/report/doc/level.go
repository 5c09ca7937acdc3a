package doc

import (
	"cmp"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/topology"
)

const (
	Cluster  = topology.LabelCluster
	Region   = v1.LabelTopologyRegion
	Zone     = v1.LabelTopologyZone
	Hostname = v1.LabelHostname
)

// MaxDomains is how many failure domains are named one by one on a line of their own, maxCellDomains in a table.
const (
	MaxDomains     = 12
	MaxCellDomains = 6
)

// Noun is what a failure domain of the level is called: zone for zone=b, too.
func Noun(level string) string {
	key := level
	if base, _, is := topology.Chosen(level); is {
		key = base
	}
	switch key {
	case Cluster:
		return "cluster"
	case Region, v1.LabelFailureDomainBetaRegion:
		return "region"
	case Zone, v1.LabelFailureDomainBetaZone:
		return "zone"
	case Hostname:
		return "node"
	}
	return "domain"
}

// DomainNoun is what a failure domain is called, by the short name of its level where there is no word for it.
func DomainNoun(key, short string) string {
	if word := Noun(key); word != "domain" {
		return word
	}
	return short
}

// LevelName is zone for topology.kubernetes.io/zone, and node for kubernetes.io/hostname.
func LevelName(key string) string { return DomainNoun(key, Shorts([]string{key})[0]) }

// DomainOf is what a domain of the level is called: zone, or a key of its own.
func DomainOf(level string) string {
	if word := Noun(level); word != "domain" {
		return word
	}
	return level
}

// AnyDomain is "any zone", or "zone b" for zone=b.
func AnyDomain(level string) string {
	if _, value, is := topology.Chosen(level); is {
		return DomainOf(level) + " " + value
	}
	return "any " + DomainOf(level)
}

// Heads are the column heads of topology keys: ZONE for topology.kubernetes.io/zone, as kubectl's -L has it.
func Heads(keys []string) []string {
	titles := Shorts(keys)
	for i := range titles {
		titles[i] = strings.ToUpper(titles[i])
	}
	return titles
}

// Shorts are the topology keys without what stands before their last slash, or whole where another one ends alike.
func Shorts(keys []string) []string {
	last := func(key string) string {
		parts := strings.Split(key, "+") // of a level of several keys
		for i, part := range parts {
			parts[i] = part[strings.LastIndex(part, "/")+1:]
		}
		return strings.Join(parts, "+")
	}
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

// DomainsText names domains that fail together. A domain may be the empty value of a label.
func DomainsText(domains []string) string {
	names := list.Each(domains, func(domain string) string { return cmp.Or(domain, `""`) })
	return strings.Join(names, " + ")
}
