package sweep

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/scenario"
)

// Merge joins the reports of shards, in any order, to the report of the whole sweep. A shard may be there twice. files are the names of the
// reports. The error lists everything that does not fit together, and the missing points.
func Merge(files []string, parts []*Report) (*Report, error) {
	whole := *parts[0]
	whole.Points, whole.Shard, whole.Partial = nil, nil, ""
	if whole.Total < 1 || whole.Total > scenario.MaxPoints {
		return nil, fmt.Errorf("%s: total: %d is not between 1 and %d; write the report again", files[0], whole.Total, scenario.MaxPoints)
	}
	var problems []error
	points := map[int]*Point{}
	for i, part := range parts {
		if !sameSweep(part, &whole) {
			problems = append(problems, fmt.Errorf("%s: is of another sweep than %s; give shards of the same scenario, seed, options and versions", files[i], files[0]))
			continue
		}
		for j := range part.Points {
			point := part.Points[j]
			point.Front = false // [Report.markFront] finds it anew among all points
			known := points[point.Index]
			switch {
			case point.Index < 0 || point.Index >= whole.Total:
				problems = append(problems, fmt.Errorf("%s: points[%d].index: %d is not between 0 and %d; write the report again", files[i], j, point.Index, whole.Total-1))
			case known == nil:
				points[point.Index] = &point
			case !reflect.DeepEqual(known, &point):
				problems = append(problems, fmt.Errorf("%s: point %s is not the same as in another shard, and should be; delete the reports and run the shards again", files[i], point.valuesText(whole.Parameters)))
			}
		}
	}
	var missing []string
	for i := range whole.Total {
		if points[i] == nil {
			missing = append(missing, fmt.Sprint(i))
		} else {
			whole.Points = append(whole.Points, *points[i])
		}
	}
	if len(missing) > 0 && len(problems) == 0 {
		more := ""
		if len(missing) > doc.MaxDomains {
			more = fmt.Sprintf(" and %d more", len(missing)-doc.MaxDomains)
		}
		problems = append(problems, fmt.Errorf("%d of %d points are missing: %s%s; give the reports of all shards, and run those again that have failed",
			len(missing), whole.Total, strings.Join(missing[:min(len(missing), doc.MaxDomains)], ", "), more))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	whole.markFront()
	return &whole, nil
}

// sameSweep reports whether two reports are of shards of one sweep.
func sameSweep(a, b *Report) bool {
	x, y := *a, *b
	x.Points, x.Shard, x.Partial = nil, nil, ""
	y.Points, y.Shard, y.Partial = nil, nil, ""
	return reflect.DeepEqual(x, y)
}
