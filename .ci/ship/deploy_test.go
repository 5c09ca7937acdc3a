package ship

import (
	"encoding/json"
	"testing"

	promql "github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// Prometheus' own parser understands the expressions of the alerts and of the dashboard. That their metrics exist is tested with the program.
func TestExpressions(t *testing.T) {
	check := func(of, expr string) {
		if _, err := promql.ParseExpr(expr); err != nil {
			t.Errorf("%s: %s: %v", of, expr, err)
		}
	}
	var rule struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
	}
	if err := yaml.Unmarshal(read(t, "deploy/chart/files/prometheusrule.yaml"), &rule); err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, group := range rule.Spec.Groups {
		for _, alert := range group.Rules {
			alerts++
			check(alert.Alert, alert.Expr)
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "deploy/chart/files/dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	targets := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			targets++
			check(panel.Title, target.Expr)
		}
	}
	if alerts == 0 || targets == 0 {
		t.Errorf("%d alerts and %d targets were found", alerts, targets)
	}
}
