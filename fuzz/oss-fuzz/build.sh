#!/usr/bin/env bash
# Builds every target with its dictionary and its seeds, in the form that OSS-Fuzz requires.
set -euo pipefail
cd "$SRC/zten"

cargo fuzz build -O --debug-assertions
fuzz/seed
for source in fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  cp "lab/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  find "fuzz/corpus/$target" -type f | zip -jq "$OUT/${target}_seed_corpus.zip" -@
  cp fuzz/zten.dict "$OUT/$target.dict"
done
