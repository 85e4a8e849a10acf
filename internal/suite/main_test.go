package suite

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bin is the directory of the programs under test.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "awp-suite"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-tags", "failpoint", "-o", bin+"/",
		"../../cmd/awp", "../../cmd/awp-conform", "../../cmd/awp-store", "../../cmd/awp-wire")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	// What this process calls on a daemon's behalf starts programs, too.
	os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, assignment := range os.Environ() {
		name, _, _ := strings.Cut(assignment, "=")
		if strings.HasPrefix(name, "AWP_") && !strings.HasPrefix(name, "AWP_SUITE_") {
			os.Unsetenv(name)
		}
	}
	// The tests mostly wait, for disks and for programs that start.
	if flag.Parse(); runtime.GOMAXPROCS(0) < 4 {
		flag.Set("test.parallel", "4") //nolint:errcheck // it exists
	}
	return m.Run()
}

// rounds is how often something is done: usually so often, in a soak as the caller says.
func rounds(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("AWP_SUITE_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return usual
}

// newRand returns the random choices of a test, which a failed one names the seed of.
func newRand(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("AWP_SUITE_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("AWP_SUITE_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// pollEvery is the pace of eventually.
const pollEvery = 20 * time.Millisecond

// eventually waits, at most as long as within, until done reports nothing. What it
// reported last is why the test fails.
func eventually(t *testing.T, within time.Duration, done func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := done()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %v", within, err)
		}
		<-tick.C
	}
}
