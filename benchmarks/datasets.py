"""Make the data sets that are shipped: python benchmarks/datasets.py ORIGINALS, a folder with one for each data set.

An original is votes.csv (decision, cluster, voter, alternative, value, count, …) and truth.csv (decision, alternative,
truth, perhaps truth_n, …); ranks follow from the values. llmfao has models.csv, the names of its alternatives, and
comparisons.csv too; mqm has segments.parquet.
"""

import sys
from pathlib import Path

import polars as pl

import veritally as vt

SHIPPED = Path(vt.__file__).parent / "datasets"
VOTES = ("decision", "voter", "alternative", "value", "count")
TRUTH = ("decision", "alternative", "truth", "truth_n", "cluster")


def tables(original: Path) -> dict[str, pl.DataFrame]:
    """Return what is shipped of a data set."""
    given = {path.stem: pl.read_csv(path, infer_schema_length=None) for path in original.glob("*.csv")}
    votes, truth = given["votes"], given["truth"]
    clusters = votes.select("decision", pl.col("cluster").cast(pl.String)).unique()
    truth = truth.drop("cluster", strict=False).join(clusters, "decision", "left")
    names = dict(given["models"].iter_rows()) if "models" in given else {}
    shipped = {
        "votes": votes.select(VOTES),
        "truth": truth.select(name for name in TRUTH if name in truth.columns),
        "comparisons": given.get("comparisons"),
        "looks": pl.read_parquet(looks) if (looks := original / "segments.parquet").exists() else None,
    }
    names |= {f"ONLINE-{letter}": f"Online-{letter}" for letter in "ABGMWY"}  # as the older sets of mqm have it
    named = pl.col("^(alternative|left|right|system)$").replace(names)
    return {name: table.with_columns(named) for name, table in shipped.items() if table is not None}


def main(originals: Path) -> None:
    """Write them where the package has them."""
    for name in vt.datasets.names():
        for kind, table in tables(originals / name).items():
            path = SHIPPED / name / f"{kind}.parquet"
            table.write_parquet(path, compression="zstd", compression_level=22, statistics=False)
            print(f"{path.relative_to(SHIPPED)}: {table.height:,} rows, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
