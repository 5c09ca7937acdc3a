package report

import (
	"reflect"
	"strings"
)

// Complete returns a copy of a model with an empty list for each missing one that its schema requires, since a consumer that loops over
// steps should not have to guard against null.
func Complete[R any](r *R) *R { return completed(reflect.ValueOf(r)).Interface().(*R) }

func completed(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(completed(v.Elem()))
		return c
	case v.Kind() == reflect.Slice && !v.IsNil():
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(completed(v.Index(i)))
		}
		return c
	case v.Kind() == reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		for i := range v.NumField() {
			field := c.Field(i)
			if !field.CanSet() {
				continue
			}
			field.Set(completed(field))
			if field.Kind() == reflect.Slice && field.IsNil() && !strings.Contains(v.Type().Field(i).Tag.Get("json"), ",omitempty") {
				field.Set(reflect.MakeSlice(field.Type(), 0, 0))
			}
		}
		return c
	}
	return v
}
