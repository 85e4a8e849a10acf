package daemoncmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/supervise"
)

// downWithin bounds how long Down waits. The programs get 10 seconds each, of which they
// mostly need none.
const downWithin = 15 * time.Second

// Down stops the daemon of home and waits until nothing of the home runs. It reports
// whether anything did. What systemd runs is systemd's to stop.
func Down(ctx context.Context, home string) (wasRunning bool, err error) {
	within, cancel := context.WithTimeout(ctx, downWithin)
	defer cancel()
	wasRunning, err = supervise.StopDaemon(within, home)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		pid, _ := supervise.Running(home)
		hint := "ask again: awp down"
		if pid != 0 {
			hint = fmt.Sprintf("if it hangs: kill -9 %d", pid)
		}
		return wasRunning, &awp.Error{
			Code:    awp.Busy,
			Message: fmt.Sprintf("the daemon has not ended within %v", downWithin),
			Hint:    hint,
			Cause:   err,
		}
	}
	return wasRunning, err
}
