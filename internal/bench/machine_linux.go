package main

import "github.com/prometheus/procfs"

// readProc adds what /proc contains.
func (m *machine) readProc() {
	files, err := procfs.NewDefaultFS()
	if err != nil {
		return
	}
	if memory, err := files.Meminfo(); err == nil && memory.MemTotalBytes != nil {
		m.Memory = int64(*memory.MemTotalBytes) //nolint:gosec // no machine has that much memory
	}
	if processors, err := files.CPUInfo(); err == nil && len(processors) > 0 {
		m.Processor = processors[0].ModelName
	}
	if load, err := files.LoadAvg(); err == nil {
		m.Load = load.Load1
	}
}
