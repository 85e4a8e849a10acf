package render

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"encoding/json/v2"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/awp-suite/awp"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestEvents renders the event in each file "NAME.json" of the archive and compares with
// the file "NAME.txt" behind it.
func TestEvents(t *testing.T) {
	const path = "testdata/events.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".json")
		if !ok {
			continue
		}
		var events []awp.Event
		if err := json.Unmarshal(f.Data, &events); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := Printer{Zone: time.UTC, Banner: strings.HasPrefix(name, "banner"), Subject: strings.HasPrefix(name, "subject")}
		var got []byte
		for _, e := range events {
			got = p.Append(got, e)
		}
		want := &archive.Files[i+1]
		if *update {
			want.Data = got
		}
		if string(got) != string(want.Data) {
			t.Errorf("%s: got\n%swant\n%s", name, got, want.Data)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
