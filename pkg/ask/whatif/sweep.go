package whatif

import (
	"context"
	"errors"
	"fmt"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Shard returns the points of shard i of n, counted from 0, as a half-open range of indices. The points of a shard are neighbours, since
// neighbours share the most work, and the sizes of shards differ by at most one: 10 points in 3 shards are the ranges 0-3, 3-6 and 6-10.
// Some shards are empty if there are more shards than points.
func Shard(points, i, n int) (from, to int) {
	return points * i / n, points * (i + 1) / n
}

// Sweep runs the points that the store lacks. It returns the results of all points, in order, and the number of points that the store had.
// It puts each result into the store at once, so that an interrupted sweep can continue. The store may be nil. If the context ends,
// unfinished points are nil; if no point is finished, found is nil.
func Sweep(ctx context.Context, base *Base, points []scenario.Point, keys *Keys, store *Store, opts Options) (found []*Found, known int, err error) {
	found = make([]*Found, len(points))
	names := make([]string, len(points)) // their keys in the store
	var missing []int
	for i := range points {
		if store != nil {
			if names[i], err = keys.OfPoint(&points[i]); err != nil {
				return nil, 0, err
			}
			kept, err := store.Get(names[i])
			if err != nil {
				return nil, 0, err
			}
			if kept != nil {
				found[i] = kept
				continue
			}
		}
		missing = append(missing, i)
	}
	versions := list.Map(missing, func(i int) *scenario.Scenario { return points[i].Scenario })
	known = len(points) - len(missing)
	if progress := opts.Progress; progress != nil {
		opts.Progress = func(last, done, _ int) { progress(missing[last], known+done, len(points)) }
	}
	if store != nil {
		opts.Done = func(j int, found *Found) error { return store.Put(names[missing[j]], found) }
	}
	fresh, err := Run(ctx, base, versions, opts)
	var failed *VersionError
	if errors.As(err, &failed) {
		return nil, 0, fmt.Errorf("point %s: %w", points[missing[failed.Index]].Name, failed.Err)
	}
	for j := range fresh {
		found[missing[j]] = fresh[j]
	}
	found, err = keepFinished(ctx, found, err)
	return found, known, err
}
