package cluster

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// helmHook is the annotation of what Helm creates for a moment in the life of a release, and waits for.
const helmHook = "helm.sh/hook"

// Containers says what the containers of a cluster do, although nobody runs them: they end as their literal commands say, start again as their
// restartPolicy says, and are ready after the initial delay of their readiness probes. In a State without it they are ready at once, and end
// only if an annotation says so.
type Containers struct {
	// JobDuration is how long a pod of a Job or a pod that is a hook of Helm runs if its commands do not say; 0 means until somebody ends it.
	JobDuration time.Duration
	// MissingImages are patterns of images that no registry has, such as *:404. A pod with such an image never starts.
	MissingImages []string
}

// containersNotReady is the reason with which a kubelet says that containers have not started or are not ready.
const containersNotReady = "ContainersNotReady"

// Lacks reports whether no registry has the image.
func (c *Containers) Lacks(image string) bool {
	return c != nil && slices.ContainsFunc(c.MissingImages, func(pattern string) bool {
		whole, _ := path.Match(pattern, image)
		base, _ := path.Match(pattern, path.Base(image))
		return whole || base
	})
}

// starts reports whether all containers of the pod start.
func (c *Containers) starts(pod *v1.Pod) bool {
	return !slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(one v1.Container) bool { return c.Lacks(one.Image) })
}

// Start returns a pod that has just been bound as its kubelet starts it.
func (c *Containers) Start(pod *v1.Pod) *v1.Pod {
	if c == nil || c.readyDelay(pod) == 0 && c.starts(pod) && !c.crashes(pod) {
		return pod
	}
	started := *pod
	started.Status.Conditions = slices.Clone(pod.Status.Conditions)
	if !c.starts(pod) {
		started.Status.Phase = v1.PodPending
	}
	for i := range started.Status.Conditions {
		if condition := &started.Status.Conditions[i]; condition.Type == v1.ContainersReady || condition.Type == v1.PodReady {
			condition.Status, condition.Reason = v1.ConditionFalse, containersNotReady
		}
	}
	return &started
}

// readyDelay returns how long after its start a pod becomes ready.
func (c *Containers) readyDelay(pod *v1.Pod) (longest time.Duration) {
	for i := range pod.Spec.Containers {
		if probe := pod.Spec.Containers[i].ReadinessProbe; probe != nil {
			longest = max(longest, time.Duration(probe.InitialDelaySeconds)*time.Second)
		}
	}
	return longest
}

// ReadyAt returns when a pod becomes ready that Start has started, or false if it already was, or never is.
func (c *Containers) ReadyAt(pod *v1.Pod) (time.Time, bool) {
	if c == nil || pod.Status.Phase != v1.PodRunning || pod.Status.StartTime == nil || pod.DeletionTimestamp != nil || !AwaitsContainers(pod) || c.crashes(pod) {
		return time.Time{}, false
	}
	return pod.Status.StartTime.Truncate(time.Second).Add(c.readyDelay(pod)), true
}

// AwaitsContainers reports whether the pod's kubelet has said that containers have not started or are not ready.
func AwaitsContainers(pod *v1.Pod) bool {
	_, condition := podutil.GetPodCondition(&pod.Status, v1.ContainersReady)
	return condition != nil && condition.Status == v1.ConditionFalse && condition.Reason == containersNotReady
}

// MakeReady returns a pod whose containers are ready.
func MakeReady(pod *v1.Pod, now metav1.Time) *v1.Pod {
	for _, condition := range []v1.PodConditionType{v1.ContainersReady, v1.PodReady} {
		pod = WithCondition(pod, v1.PodCondition{Type: condition, Status: v1.ConditionTrue, LastTransitionTime: now})
	}
	return pod
}

// EndsAt returns when a running pod ends and with which exit code, or false if nothing says that it does: an annotation, its commands, or for how
// long the pods of Jobs run.
func (c *Containers) EndsAt(pod *v1.Pod) (at time.Time, code int32, ends bool) {
	if at, ends := completesAt(pod); ends || c == nil {
		return at, 0, ends
	}
	if !RunsOnce(pod) || pod.Status.Phase != v1.PodRunning || pod.Status.StartTime == nil {
		return at, 0, false
	}
	after, code, ends := endOfCommands(&pod.Spec)
	if !ends && c.JobDuration > 0 && isAwaited(pod) && !c.crashes(pod) {
		after, code, ends = c.JobDuration, 0, true
	}
	if !ends || code != 0 && pod.Spec.RestartPolicy != v1.RestartPolicyNever {
		return at, 0, false // a container that fails starts again
	}
	return pod.Status.StartTime.Truncate(time.Second).Add(after), code, true
}

// isAwaited reports whether somebody waits for the end of a pod that the cluster has created: its Job, or Helm.
func isAwaited(pod *v1.Pod) bool {
	if FromDump(pod) {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "Job" || owner == nil && pod.Annotations[helmHook] != ""
}

// endOfCommands returns when all containers have ended after their start, and the exit code of the first that fails.
func endOfCommands(spec *v1.PodSpec) (after time.Duration, code int32, ends bool) {
	for i := range spec.Containers {
		took, exit, ends := endOfCommand(&spec.Containers[i])
		if !ends {
			return 0, 0, false
		}
		if after = max(after, took); code == 0 {
			code = exit
		}
	}
	return after, code, true
}

// shellImages are images whose program is a shell, which ends at once without a terminal.
var shellImages = []string{"alpine", "busybox"}

// startUp is how long a command runs that has nothing to do.
const startUp = time.Second

// endOfCommand returns after what time a container's literal command ends, and its exit code, or false if the command says nothing that is
// known here: true, false, exit, sleep, echo, and what a shell makes of them with ; && and ||.
func endOfCommand(container *v1.Container) (after time.Duration, code int32, ends bool) {
	words := slices.Concat(container.Command, container.Args)
	if len(words) == 0 {
		name, _, _ := strings.Cut(path.Base(container.Image), ":")
		return startUp, 0, slices.Contains(shellImages, name)
	}
	switch name := path.Base(words[0]); {
	case slices.Contains([]string{"sh", "ash", "bash"}, name) && len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c"):
		after, code, ends = endOfScript(words[2], strings.Contains(words[1], "e"))
	case name == "exit": // of a shell only
		return 0, 0, false
	default:
		after, code, _, ends = endOfWords(words)
	}
	return max(after, startUp), code, ends
}

// endOfScript does what endOfCommand does for the script of a shell. With fails, the script ends with the first command that fails.
func endOfScript(script string, fails bool) (after time.Duration, code int32, ends bool) {
	commands, joined, ok := splitScript(script)
	if !ok {
		return 0, 0, false
	}
	for i, words := range commands {
		if joined[i] == "&&" && code != 0 || joined[i] == "||" && code == 0 {
			continue
		}
		took, exit, last, ends := endOfWords(words)
		if !ends {
			return 0, 0, false
		}
		after, code = after+took, exit
		tested := i+1 < len(commands) && joined[i+1] != ";"
		if last || fails && code != 0 && !tested {
			break
		}
	}
	return after, code, true
}

// splitScript returns the commands of a script as words, and before each command how it is joined to the one before: ; && or ||. It reports
// false if the script has anything else, such as variables in loops, pipes or substitutions.
func splitScript(script string) (commands [][]string, joined []string, ok bool) {
	join, words, word, inWord := ";", []string(nil), "", false
	endWord := func() {
		if inWord {
			words = append(words, word)
		}
		word, inWord = "", false
	}
	endCommand := func(next string) {
		if endWord(); len(words) > 0 {
			commands, joined, words = append(commands, words), append(joined, join), nil
		}
		join = next
	}
	for i := 0; i < len(script); i++ {
		switch c := script[i]; c {
		case '\'', '"':
			end := strings.IndexByte(script[i+1:], c)
			if end < 0 {
				return nil, nil, false
			}
			quoted := script[i+1 : i+1+end]
			if c == '"' && strings.ContainsAny(quoted, "`\\") || c == '"' && strings.Contains(quoted, "$(") {
				return nil, nil, false
			}
			word, inWord = word+quoted, true
			i += end + 1
		case ' ', '\t':
			endWord()
		case ';', '\n':
			endCommand(";")
		case '&', '|':
			if i+1 == len(script) || script[i+1] != c {
				return nil, nil, false
			}
			i++
			endCommand(string([]byte{c, c}))
		case '`', '(', ')', '{', '}', '\\', '#', '<':
			return nil, nil, false
		default:
			word, inWord = word+string(c), true
		}
	}
	endCommand(";")
	return commands, joined, len(commands) > 0
}

// endOfWords returns after what time a simple command ends, its exit code, and whether the shell ends with it.
func endOfWords(words []string) (after time.Duration, code int32, last, ends bool) {
	switch path.Base(words[0]) {
	case "true", ":", "echo", "printf", "date":
		return 0, 0, false, true
	case "false":
		return 0, 1, false, true
	case "exit":
		if len(words) == 1 {
			return 0, 0, true, true
		}
		code, ends := parseExitCode(words[1:])
		return 0, code, true, ends
	case "sleep":
		after, ends := parseSleep(words[1:])
		return after, 0, false, ends
	}
	return 0, 0, false, false
}

func parseExitCode(words []string) (int32, bool) {
	if len(words) != 1 {
		return 0, false
	}
	code, err := strconv.ParseUint(words[0], 10, 8)
	return int32(code), err == nil
}

// parseSleep returns the sum of lengths of time such as 30, 1.5 and 2m.
func parseSleep(words []string) (sum time.Duration, ok bool) {
	for _, word := range words {
		unit := time.Second
		for suffix, length := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
			if number, is := strings.CutSuffix(word, suffix); is {
				word, unit = number, length
				break
			}
		}
		seconds, err := strconv.ParseFloat(word, 64)
		if err != nil || !(seconds >= 0 && seconds < 1e6) { // infinity runs on
			return 0, false
		}
		sum += time.Duration(seconds * float64(unit)).Round(time.Second)
	}
	return sum, len(words) > 0
}

// FailPod returns the pod as its kubelet reports it after its containers have ended with an exit code other than 0.
func FailPod(pod *v1.Pod, code int32, now metav1.Time) *v1.Pod {
	failed := *pod
	failed.Status.Phase = v1.PodFailed
	failed.Status.ContainerStatuses = nil
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		ended := v1.ContainerStateTerminated{ExitCode: code, Reason: "Error", StartedAt: *pod.Status.StartTime, FinishedAt: now}
		if _, exit, ends := endOfCommand(container); ends && exit == 0 {
			ended.ExitCode, ended.Reason = 0, "Completed"
		}
		failed.Status.ContainerStatuses = append(failed.Status.ContainerStatuses, v1.ContainerStatus{Name: container.Name, Image: container.Image, State: v1.ContainerState{Terminated: &ended}})
	}
	for _, condition := range []v1.PodConditionType{v1.ContainersReady, v1.PodReady} {
		failed = *WithCondition(&failed, v1.PodCondition{Type: condition, Status: v1.ConditionFalse, Reason: "PodFailed", LastTransitionTime: now})
	}
	return &failed
}
