package store

import (
	"errors"
	"sync"

	"github.com/awp-suite/awp/internal/atomicfile"
)

// A batch touches at most so many files that arrive: each costs its transaction a sync or
// two beside the database's, however short its chunk is.
const batchFiles = 16

// syncers is how many syncs run at a time. A file system makes several that wait one.
const syncers = 16

// syncs is what a transaction has to sync before it commits. The committer owns it.
type syncs struct {
	files map[*partial]bool
	dirs  map[string]bool // whose entries changed: each once, however many did
}

func newSyncs() syncs { return syncs{files: make(map[*partial]bool), dirs: make(map[string]bool)} }

// file notes that a file was written to.
func (s syncs) file(p *partial) {
	s.files[p] = true
	s.names(p.dirs...)
}

func (s syncs) names(dirs ...string) {
	for _, dir := range dirs {
		s.dirs[dir] = true
	}
}

// run makes all of it durable.
func (s syncs) run(syncDir func(string) error) error {
	var jobs []func() error
	for p := range s.files {
		jobs = append(jobs, p.f.Sync)
	}
	for dir := range s.dirs {
		jobs = append(jobs, func() error { return syncDir(dir) })
	}
	if err := atOnce(jobs); err != nil {
		return err
	}
	for p := range s.files {
		p.dirs, p.dirty = nil, false
	}
	return nil
}

// atOnce runs the jobs, some at a time, and returns their errors.
func atOnce(jobs []func() error) error {
	var running sync.WaitGroup
	errs := make([]error, len(jobs))
	slots := make(chan struct{}, syncers)
	for i, job := range jobs {
		slots <- struct{}{}
		running.Go(func() {
			errs[i] = job()
			<-slots
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// syncDir is atomicfile's, unless a test counts.
func (f *files) syncDir(dir string) error {
	if f.onSync != nil {
		f.onSync(dir)
	}
	return atomicfile.SyncDir(dir)
}
