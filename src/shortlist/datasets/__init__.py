"""Where items come from: one file per source, all of them built on the record in `arrays`."""
