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

// MaxDomains is the largest number of failure domains that a line of text names one by one, MaxCellDomains the largest number in a cell of
// a table.
const (
	MaxDomains     = 12
	MaxCellDomains = 6
)

// Noun returns the noun for a failure domain of the level, such as zone; also for a level such as zone=b.
func Noun(level string) string {
	key := level
	if base, _, is := topology.SplitValue(level); is {
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

// DomainNoun returns the noun for a failure domain, or the short name of its level if there is no noun.
func DomainNoun(key, short string) string {
	if word := Noun(key); word != "domain" {
		return word
	}
	return short
}

// LevelName returns zone for topology.kubernetes.io/zone, and node for kubernetes.io/hostname.
func LevelName(key string) string { return DomainNoun(key, ShortKeys([]string{key})[0]) }

// DomainOrKey returns the noun for a domain of the level, or the level itself if there is no noun.
func DomainOrKey(level string) string {
	if word := Noun(level); word != "domain" {
		return word
	}
	return level
}

// AnyDomain returns "any zone", or "zone b" for the level zone=b.
func AnyDomain(level string) string {
	if _, value, is := topology.SplitValue(level); is {
		return DomainOrKey(level) + " " + value
	}
	return "any " + DomainOrKey(level)
}

// ColumnTitles returns the column titles of topology keys: ZONE for topology.kubernetes.io/zone, as kubectl's -L prints it.
func ColumnTitles(keys []string) []string {
	titles := ShortKeys(keys)
	for i := range titles {
		titles[i] = strings.ToUpper(titles[i])
	}
	return titles
}

// ShortKeys returns the topology keys without the part up to their last slash. It keeps a whole key if another one ends in the same word.
func ShortKeys(keys []string) []string {
	last := func(key string) string {
		parts := strings.Split(key, "+") // a level can have several keys
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

// DomainsText joins the names of domains that fail together: "a + b". It writes the empty value of a label as "".
func DomainsText(domains []string) string {
	names := list.Map(domains, func(domain string) string { return cmp.Or(domain, `""`) })
	return strings.Join(names, " + ")
}
