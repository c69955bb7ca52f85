"""``python -m veritally``."""

from veritally.cli import main

if __name__ == "__main__":
    main()
