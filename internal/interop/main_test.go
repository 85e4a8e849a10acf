package interop

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	commandWithin = 60 * time.Second
	settleWithin  = 120 * time.Second // a dialling loop may be asleep for a minute and a half
	script        = "../../python/awp_peer.py"
)

var (
	bin     string // the directory of the programs under test
	python  string // the interpreter
	missing string // why there is nothing to test
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if missing = findPython(); missing != "" {
		return m.Run()
	}
	var err error
	if bin, err = os.MkdirTemp("", "awp-interop"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-tags", "failpoint", "-o", bin+"/",
		"../../cmd/awp", "../../cmd/awp-store", "../../cmd/awp-wire")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	for _, assignment := range os.Environ() {
		name, _, _ := strings.Cut(assignment, "=")
		if strings.HasPrefix(name, "AWP_") && !strings.HasPrefix(name, "AWP_SUITE_") {
			os.Unsetenv(name)
		}
	}
	if flag.Parse(); runtime.GOMAXPROCS(0) < 4 { // the tests mostly wait
		flag.Set("test.parallel", "4") //nolint:errcheck // it exists
	}
	return m.Run()
}

// findPython looks for a Python that can run the peer, and says why there is none.
func findPython() (why string) {
	path, err := exec.LookPath("python3")
	if err != nil {
		return "there is no python3: " + err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	ask := exec.CommandContext(ctx, path, "-c",
		"import fcntl, sys; print(sys.executable, end=''); sys.exit(sys.version_info < (3, 9))")
	out, err := ask.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s is older than 3.9, or not whole: %v %s", path, err, out)
	}
	python = string(out) // what path may be a script for
	return ""
}

func needPython(t *testing.T) {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
}

// TestPython runs the peer's own tests.
func TestPython(t *testing.T) {
	needPython(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*commandWithin)
	defer cancel()
	tests := exec.CommandContext(ctx, python, "-B", "test_awp_peer.py")
	tests.Dir = filepath.Dir(script)
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func rounds(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("AWP_SUITE_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return usual
}

func newRand(t *testing.T) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("AWP_SUITE_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("AWP_SUITE_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// ports counts up below those that the kernel hands to who dials: a side must get its own
// again after it was killed.
var ports atomic.Int32

func init() { ports.Store(int32(28000 + os.Getpid()%4000)) }

// newBase makes a directory whose name leaves room for a socket's, and says where a side
// may listen.
func newBase(t *testing.T, transport string) (base, address string) {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "ai")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	if transport == "unix" {
		return base, "unix:" + filepath.Join(base, "s")
	}
	for {
		address := fmt.Sprintf("127.0.0.1:%d", ports.Add(1))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return base, "tcp:" + address
		}
	}
}

// eventually waits until fn has nothing to say.
func eventually(t *testing.T, within time.Duration, fn func() error) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		err := fn()
		if err == nil {
			return
		}
		if time.Since(began) > within {
			t.Fatalf("not within %v: %v", within, err)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
