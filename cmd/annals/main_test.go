package main_test

import (
	"testing"

	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
