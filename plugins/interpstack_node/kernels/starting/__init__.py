"""Start and end of a kernel's processes, in a sandbox where the machine has one."""
