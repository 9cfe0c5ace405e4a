//! Files on disk: read if they are files, written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Opens a file and tells its length. Whatever else stands there, and might never end, is refused.
pub(super) fn open(path: &Path) -> Result<(File, u64)> {
    let failed = |error: io::Error| Error::file(path, &error);
    // Asked before opening, for to open a pipe is to wait for its other end.
    refuse_devices(path, &fs::metadata(path).map_err(failed)?)?;
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        // To read it is the way to the system's own words for it.
        let error = io::Read::read(&mut &file, &mut [0]).err();
        return Err(failed(error.unwrap_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))));
    }
    Ok((file, metadata.len()))
}

/// Writes a file: under another name in the same folder first, then to its place in one step, so that nobody ever finds half
/// of it there, and a failure leaves what was there. Links are followed, and who may read a file stays as it was.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |error: io::Error| Error::file(path, &error);
    let before = fs::metadata(path).ok();
    if let Some(metadata) = &before {
        refuse_devices(path, metadata)?;
    }
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (file, draft) = create_draft(&place).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let written = write(&mut out)
        .and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error))
        // On disk before it has its name: a power cut must not leave the name of an empty file.
        .and_then(|file| file.sync_all())
        .and_then(|()| before.map_or(Ok(()), |before| fs::set_permissions(&draft, before.permissions())))
        .and_then(|()| fs::rename(&draft, &place));
    written.map_err(|error| {
        // Nothing more can be done about a draft that can't be removed; the first error is the one that counts.
        let _ = fs::remove_file(&draft);
        failed(error)
    })
}

/// Devices, pipes and sockets: to read them may never end, and to write would put a file in their place.
fn refuse_devices(path: &Path, metadata: &fs::Metadata) -> Result<()> {
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    Err(Error::model("neither a file nor a folder").in_file(path))
}

/// A new file beside `path`, with a name that nobody else has.
fn create_draft(path: &Path) -> io::Result<(File, PathBuf)> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_file_name(format!(".splitwood-{}-{number}.draft", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, draft)),
        }
    }
}
