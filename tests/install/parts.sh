#!/bin/sh
# The libraries that are opened when they are first needed are found beside the one that they belong to, and said to be
# missing where they are: parts.sh SOURCE BUILD.
# shellcheck source=tests/install/prefix.sh
. "${0%/*}/prefix.sh"
library=$(find "$libdir" -name 'libdetcore-cloud.so.0')

# What is wrong in it, only the library for buckets knows.
opening() {
  "$prefix/bin/det" checkpoints get 00000000-0000-4000-8000-000000000000 "$folder/got" \
    --storage '{"type":"s3","bucket":"b","tape":1}' 2>&1 && fail "a bucket of tapes was opened"
  return 0
}

opening | grep "tape'" || fail "the library for buckets was not loaded: $(opening)"
# So does what det does itself, without libdetcore.
cat >"$folder/experiment.yaml" <<'EOF'
name: in a bucket
searcher: {name: single, metric: loss, max_length: 1}
checkpoint_storage: {type: s3, bucket: b}
EOF
said=$(env -u AWS_ACCESS_KEY_ID -u AWS_PROFILE -u AWS_CONTAINER_CREDENTIALS_RELATIVE_URI DET_HOME="$folder/home" \
  "$prefix/bin/det" run "$folder/experiment.yaml" -- true 2>&1) && fail "det run took a bucket without credentials"
echo "$said" | grep -q 'credentials of S3' || fail "det run: $said"
mv "$library" "$folder/away"
opening | grep 'libdetcore-cloud.so.0 cannot be loaded' || fail "it does not say what is missing: $(opening)"
printf 'extern const char *det_cloud_entry[]; const char *det_cloud_entry[] = {"another build"};' |
  cc -shared -fPIC -x c - -o "$library"
opening | grep 'of another build' || fail "a library of another build was loaded: $(opening)"

# So are the libraries for requests and for hashes, which a store in a directory does not need.
asking() {
  DET_MASTER=http://127.0.0.1:1 DET_RETRY_CONFIG='{"total":0}' "$prefix/bin/det" ls 2>&1 && fail "nobody's trials were listed"
  return 0
}
asking | grep -q 'Failed to connect' || fail "the library for requests was not loaded: $(asking)"
rm "${library%/*}"/libdetcore-crypto.so.0
mv "${library%/*}"/libdetcore-http.so.0 "$folder/away"
asking | grep 'libdetcore-http.so.0 cannot be loaded (.*); install it .*, and libcurl .*libcurl4' ||
  fail "it does not say what is missing: $(asking)"
printf 'name: in a directory\nsearcher: {name: single, metric: loss, max_length: 1}\n' >"$folder/experiment.yaml"
DET_HOME="$folder/home" "$prefix/bin/det" run "$folder/experiment.yaml" -- true || fail "a store needs them, too"
