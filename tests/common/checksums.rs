//! Repairs the checksums of a model file that a test has changed.

/// Writes valid checksums into the table and the header, as far as the table can be read.
pub fn repair(bytes: &mut [u8]) {
    let Some(count) = bytes.get(12..16) else { return };
    let n_sections = u32::from_le_bytes(count.try_into().unwrap()) as usize;
    let Some(table_end) = n_sections.checked_mul(32).and_then(|length| length.checked_add(64)) else { return };
    if table_end > bytes.len() {
        return;
    }
    for entry in (64..table_end).step_by(32) {
        let field = |at: usize| u64::from_le_bytes(bytes[entry + at..entry + at + 8].try_into().unwrap()) as usize;
        let (offset, end) = (field(8), field(8).checked_add(field(16)));
        if let Some(section) = end.and_then(|end| bytes.get(offset..end)) {
            let checksum = crc32fast::hash(section);
            bytes[entry + 24..entry + 28].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    let checksum = crc32fast::hash(&[&bytes[..60], &bytes[64..table_end]].concat());
    bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
}
