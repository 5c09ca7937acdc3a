// Package bench measures how long scenarios take, and tells whether they take longer than they did.
//
//	scenario ─ NewMeter ──▶ Meter      (warmed up; knows how many runs make one measurement)
//	Meter ─ Sample ───────▶ Sample     (wall and CPU time, allocations, and the calibration's CPU time)
//	Meter ─ Plugins ──────▶ PluginTime (a CPU profile of further runs, by plugin)
//	Samples ─ Write ──────▶ Go's benchmark format ─ Read ──▶ Baseline
//	Baseline + Meter ─ Compare ▶ Verdict
//
// What is judged is the ratio of two CPU times: that of the scenario, and that of a fixed piece of work of the same kind that is
// done right before and after it. CPU time leaves out most of what other tenants of the machine take; the ratio takes out how
// fast the machine happens to be. See Compare for when a ratio is called a regression.
package bench
