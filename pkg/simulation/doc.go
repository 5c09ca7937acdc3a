// Package simulation runs scenarios. It is the data's path in code:
//
//	scenario.yaml, kind config, manifests, kubectl/helm/kustomize output, cluster dump, stdin
//	  └─ manifest.Decode ─ loader.Load ────▶ *scenario.Scenario       (defaulted, validated: all problems at once)
//	       ├─ topology.Build ──────────────▶ nodes
//	       └─ operator.Expand ─────────────▶ plain workloads          (of custom resources)
//	for each step:
//	  act ─────────────────────────────────▶ cluster.State            (what the user does: apply, scale, drain, fail …)
//	  World.Settle, until nothing moves:
//	    controller.Reconcile ──────────────▶ State + queue            (what the controllers create and delete)
//	    sched.Engine.Place ────────────────▶ placement.Result         (placed · pending · preempted, and why)
//	results ─ expect.Judge ──────────────▶ []expect.Expectation     (of each step)
//	        ─ report.New ────────────────▶ *report.Report ─ report.Write ▶ text · wide · json · yaml · name
package simulation
