package schema

import "testing"

func TestValidate(t *testing.T) {
	const env = `"id":"1","ts":"2026-09-29T17:00:00.000Z"`
	for line, good := range map[string]bool{
		`{"t":"ping",` + env + `}`:                                                    true,
		`{"t":"ping","id":"1"}`:                                                       false,
		`{"t":"new",` + env + `,"any":[1]}`:                                           true,
		`{"t":"",` + env + `}`:                                                        false,
		`{"t":"pong",` + env + `}`:                                                    false,
		`{"t":"ack",` + env + `,"th":"a","re":"b"}`:                                   true,
		`{"t":"ack",` + env + `,"th":"a"}`:                                            false,
		`{"t":"msg",` + env + `,"th":"a","parts":[{"k":"text","text":"b"}]}`:          true,
		`{"t":"msg",` + env + `,"th":"a","parts":[{"k":"text"}]}`:                     false,
		`{"t":"msg",` + env + `,"th":"a","parts":[{"k":"new"}]}`:                      true,
		`{"t":"msg",` + env + `,"th":"a","parts":[{"k":"blob","ref":"r","size":-1}]}`: false,
		`{"t":"resume",` + env + `,"seen":null}`:                                      true,
		`{"t":"resume",` + env + `,"seen":{"a":1}}`:                                   false,
		`{"t":"chunk",` + env + `,"ref":"r","n":1.5,"data":""}`:                       false,
		`[]`: false,
	} {
		if err := Validate([]byte(line)); (err == nil) != good {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, name := range Types() {
		if _, ok := Document()["$defs"].(object)[name]; !ok {
			t.Errorf("no definition of %s", name)
		}
	}
}
