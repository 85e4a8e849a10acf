module github.com/awp-suite/awp

go 1.27.1
