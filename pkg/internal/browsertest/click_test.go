package browsertest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/internal/browsertest"
)

// The page redraws its first button when a reader presses it, and moves it away: the click would be lost, or hit the second button.
const movingPage = `<!doctype html><meta charset="utf-8"><title>moving</title><main></main><script>
const clicks = [];
function draw(top) {
  document.querySelector("main").innerHTML = '<button id="first" style="position:absolute;top:' + top + 'px">first</button><button id="second" style="position:absolute;top:' + (200 - top) + 'px">second</button>';
  for (const button of document.querySelectorAll("button")) button.addEventListener("click", () => clicks.push(button.id));
}
draw(50);
addEventListener("mousedown", () => draw(150), {once: true});
</script>`

func TestClickReachesWhatMoves(t *testing.T) {
	b := browsertest.Start(t)
	b.OpenFile(movingPage)
	b.Click("#first")
	if diff := cmp.Diff([]string{"first"}, browsertest.Evaluate[[]string](b, "clicks")); diff != "" {
		t.Errorf("clicks (-want +got):\n%s", diff)
	}
}
