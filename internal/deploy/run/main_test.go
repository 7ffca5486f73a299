package run_test

import (
	"os"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
