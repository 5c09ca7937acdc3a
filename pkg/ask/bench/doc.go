// Package bench measures how long scenarios take, and detects whether they have become slower.
//
//	scenario ─ NewMeter ──▶ Meter      (warmed up; knows how many runs make one measurement)
//	Meter ─ Sample ───────▶ Sample     (wall and CPU time, allocations, and the calibration's CPU time)
//	Meter ─ Plugins ──────▶ PluginTime (a CPU profile of further runs, by plugin)
//	Samples ─ Write ──────▶ Go's benchmark format ─ Read ──▶ Baseline
//	Baseline + Meter ─ Compare ▶ Verdict
//
// Compare judges the ratio of two CPU times: the scenario's, and that of fixed work of the same kind right before and after it. CPU time
// excludes most of the influence of other work on the machine, and the ratio cancels the present speed of the machine. See [Meter.Compare]
// for the ratios that count as a regression.
package bench
