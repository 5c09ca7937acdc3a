// Package simulation runs scenarios. It is the data's path in code:
//
//	scenario.yaml, kind config, manifests, kubectl/helm/kustomize output, cluster dump, stdin
//	  └─ manifest.Decode ─ loader.Load ────▶ *scenario.Scenario       (defaulted, validated: all problems at once)
//	       ├─ topology.Build ──────────────▶ nodes
//	       └─ operator.Expand ─────────────▶ plain workloads          (of custom resources)
//	NewWorld ──────────────────────────────▶ world.World              (world.Cluster or, of a federation, fleet.Fleet)
//	for each step:
//	  World.Do ────────────────────────────▶ cluster.State            (what the user does: apply, scale, drain, fail …)
//	  World.Settle, until nothing moves:
//	    controller.Reconcile ──────────────▶ State + queue            (what the controllers create and delete)
//	    sched.Engine.Place ────────────────▶ placement.Result         (placed · pending · preempted, and why)
//	    in a fleet, federation.Scheduler ──▶ bindings                 (which clusters get a workload; then each settles again)
//	results ─ expect.Judge ──────────────▶ []expect.Judged     (of each step)
//	        ─ run.New ───────────────────▶ *run.Report ─ run.Formats.Write ▶ text · wide · json · yaml · name
package simulation
