package manifest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// Reading ends when the context ends, and at the first object above a limit, in a List and in documents.
func TestReadWithin(t *testing.T) {
	var items []string
	for i := range 50 {
		items = append(items, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a%d"}}`, i))
	}
	files := fstest.MapFS{
		"list.json": {Data: []byte(`{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(items, ",") + "]}")},
		"all.yaml":  {Data: []byte(strings.Join(items, "\n---\n"))},
	}
	ended, end := context.WithCancelCause(context.Background())
	end(errors.New("it is over"))
	for file := range files {
		for _, test := range []struct {
			ctx  context.Context
			most map[string]int
			want string
		}{
			{context.Background(), map[string]int{"Namespace": 50, "Pod": 0}, "<nil>"},
			{context.Background(), map[string]int{"Namespace": 49}, "more than 49 objects of kind Namespace"},
			{ended, nil, "it is over"},
		} {
			_, err := ReadLimited(test.ctx, test.most, files, nil, file)
			if got := fmt.Sprint(err); got != test.want {
				t.Errorf("%s: %s; want %s", file, got, test.want)
			}
		}
	}
}
