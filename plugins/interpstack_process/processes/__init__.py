"""Worker processes as the host sees them: started, pooled, asked, waited for and ended."""
