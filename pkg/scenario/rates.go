package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/topology"
)

// HoursPerYear is the length of a year of 365 days.
const HoursPerYear = 8760

// Rates are the failure rates of the levels, by topology key or one of the short words node, zone and region:
//
//	node: {rate: 5%/year, recovery: 4h}
//	zone: {rate: 0.1/year, recovery: 1h}
//	karpenter.sh/capacity-type=spot+node: {rate: 1/week, recovery: 2m}
//
// Several labels make one level as in topology.Key: the last level above is each node with the label karpenter.sh/capacity-type=spot. A
// level without a rate does not fail.
type Rates map[string]Rate

// Rate is how often each domain of a level fails, and how long it then stays down.
type Rate struct {
	// Rate is the mean number of failures of one domain in a unit of time, as number/unit: 0.2/year, 1/month, 0.01/day. A percentage is a
	// hundredth: of 100 nodes at 5%/year, five fail in a year. The units are hour, day, week, month and year; a year has 365 days, and a
	// month is a twelfth of it. A domain with 0/year never fails.
	Rate string `json:"rate"`
	// Recovery is the mean time from a failure until the pods of the domain run again: 4h, 90m, 2d, 1d12h; more than 0.
	Recovery string `json:"recovery"`
}

// Validate returns all problems of the rates. Path is the path of the rates.
func (r Rates) Validate(path *field.Path) field.ErrorList {
	if len(r) == 0 {
		return field.ErrorList{field.Required(path, "give the rate of at least one level, such as node: {rate: 5%/year, recovery: 4h}")}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(r)) {
		path := path.Key(name)
		key := topology.Key(name)
		var problems []string
		for _, part := range strings.Split(key, "+") {
			label, value, _ := strings.Cut(part, "=")
			problems = append(append(problems, validation.IsQualifiedName(label)...), validation.IsValidLabelValue(value)...)
		}
		if len(problems) > 0 {
			errs = append(errs, field.Invalid(path, name, "must be node, zone, region or the key of a node label, or several such as rack+zone: "+strings.Join(problems, "; ")))
		} else if _, twice := r[key]; twice && key != name {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("is the same level as %s; give one of the two", key)))
		}
		if _, err := r[name].PerHour(); err != nil {
			errs = append(errs, fieldError(path.Child("rate"), r[name].Rate, err))
		}
		if _, err := r[name].Hours(); err != nil {
			errs = append(errs, fieldError(path.Child("recovery"), r[name].Recovery, err))
		}
	}
	return errs
}

// fieldError returns the error for a field that is missing or invalid.
func fieldError(path *field.Path, value string, err error) *field.Error {
	if value == "" {
		return field.Required(path, err.Error())
	}
	return field.Invalid(path, value, err.Error())
}

// Keys returns the topology keys of the rates, the widest first as far as that is known: cluster, region, zone, others by name, node.
func (r Rates) Keys() []string {
	order := map[string]int{topology.LabelCluster: -3, v1.LabelTopologyRegion: -2, v1.LabelTopologyZone: -1, v1.LabelHostname: 1}
	var keys []string
	for name := range r {
		keys = append(keys, topology.Key(name))
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(order[a], order[b]), strings.Compare(a, b))
	})
	return keys
}

// ForKey returns the rate of the topology key, under whichever name it was given.
func (r Rates) ForKey(key string) Rate {
	for name, rate := range r {
		if topology.Key(name) == key {
			return rate
		}
	}
	return Rate{}
}

var (
	rateForm     = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(%?)/(hour|day|week|month|year)$`)
	hoursIn      = map[string]float64{"hour": 1, "day": 24, "week": 7 * 24, "month": HoursPerYear / 12, "year": HoursPerYear}
	recoveryForm = regexp.MustCompile(`^(?:([0-9]{1,6})d)?([0-9.hmsuµn]*)$`)
)

// PerHour returns the mean number of failures of one domain in an hour.
func (r Rate) PerHour() (float64, error) {
	parts := rateForm.FindStringSubmatch(r.Rate)
	if parts == nil {
		return 0, fmt.Errorf("must be number/unit such as 5%%/year, 0.2/year, 1/month or 0.01/day; units are hour, day, week, month and year")
	}
	failures, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return 0, fmt.Errorf("is more than can be counted")
	}
	if parts[2] == "%" {
		failures /= 100
	}
	return failures / hoursIn[parts[3]], nil
}

// Hours returns the mean time until recovery.
func (r Rate) Hours() (float64, error) {
	parts := recoveryForm.FindStringSubmatch(r.Recovery)
	if parts == nil || r.Recovery == "" {
		return 0, fmt.Errorf("must be a duration such as 4h, 90m, 2d or 1d12h")
	}
	days, _ := strconv.Atoi(parts[1]) // at most six digits, or none
	hours := float64(24 * days)
	if parts[2] != "" {
		rest, err := time.ParseDuration(parts[2])
		if err != nil {
			return 0, fmt.Errorf("must be a duration such as 4h, 90m, 2d or 1d12h")
		}
		hours += rest.Hours()
	}
	if hours <= 0 {
		return 0, fmt.Errorf("must be more than 0; a domain that never fails has the rate 0/year")
	}
	return hours, nil
}

// Unavailability returns the share of time for which a domain is down in the long run. The rate must be valid.
func (r Rate) Unavailability() float64 {
	failures, _ := r.PerHour()
	hours, _ := r.Hours()
	return 1 / (1 + 1/(failures*hours)) // λr/(1+λr), in a form that is also right for 0 and for infinity
}
