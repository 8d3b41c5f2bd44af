"""Kernel processes as the host sees them: started, asked, limited and ended."""
