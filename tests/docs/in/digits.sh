# The example and its program where a clone has them after a build.
ln -sfn "$SOURCE/examples" examples
ln -sfn "$BUILD" build
