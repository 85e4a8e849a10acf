package main

import (
	"encoding/base64"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/awp-suite/awp/wire"
)

// syncEvery is how many chunks awp-store writes between two syncs when it is busy: as
// many as fit its batch.
const syncEvery = 3

// leastWork returns how long one program takes for what a file between two homes cannot
// do without.
func leastWork(dir, path string) (time.Duration, error) {
	staged, arrived := filepath.Join(dir, "staged"), filepath.Join(dir, "arrived")
	defer os.Remove(staged)
	defer os.Remove(arrived)
	l, err := net.Listen("unix", filepath.Join(dir, "least.sock"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	start := time.Now()
	if err := copySynced(staged, path); err != nil {
		return 0, err
	}
	sent := make(chan error, 1)
	go func() { sent <- sendEncoded(l.Addr().String(), staged) }()
	in, err := l.Accept()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	err = errors.Join(storeDecoded(arrived, in), <-sent)
	return time.Since(start), err
}

func copySynced(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return dataSync(out)
}

func sendEncoded(addr, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	nc, err := net.Dial("unix", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	data := make([]byte, wire.ChunkSize)
	line := make([]byte, base64.StdEncoding.EncodedLen(len(data)))
	for {
		if _, err := io.ReadFull(f, data); err == io.EOF {
			return nil
		} else if err != nil { // the file is whole chunks
			return err
		}
		base64.StdEncoding.Encode(line, data)
		if _, err := nc.Write(line); err != nil {
			return err
		}
	}
}

func storeDecoded(path string, in io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data := make([]byte, wire.ChunkSize)
	line := make([]byte, base64.StdEncoding.EncodedLen(len(data)))
	for n := 1; ; n++ {
		if _, err := io.ReadFull(in, line); err == io.EOF {
			return dataSync(f)
		} else if err != nil {
			return err
		}
		if _, err := base64.StdEncoding.Decode(data, line); err != nil {
			return err
		}
		if _, err := f.Write(data[:wire.ChunkSize]); err != nil {
			return err
		}
		if n%syncEvery == 0 {
			if err := dataSync(f); err != nil {
				return err
			}
		}
	}
}
