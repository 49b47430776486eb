"""FASTA and FASTQ: records or fragments, as k-mers."""
