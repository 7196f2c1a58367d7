use std::collections::hash_map::RandomState;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};

/// 64 bits that nobody has to keep secret: for jitter and request ids. The standard library seeds a `RandomState`
/// from the system once a thread, and each further one differs; that spares a dependency.
fn bits() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// From 0 up to 1.
pub(crate) fn fraction() -> f64 {
    // The 53 bits that an f64 holds exactly.
    #[allow(clippy::cast_precision_loss)]
    let fraction = (bits() >> 11) as f64 / (1_u64 << 53) as f64;
    fraction
}

/// A new request id: the kit's name, a dash and 16 hexadecimal digits.
pub(crate) fn request_id() -> String {
    let mut id = format!("{}-", crate::NAME);
    // Writing to a String cannot fail.
    let _ = write!(id, "{:016x}", bits());
    id
}

#[cfg(test)]
mod tests {
    use super::{fraction, request_id};
    use std::collections::HashSet;

    #[test]
    fn request_ids_have_sixteen_characters_behind_the_name_and_differ() {
        let ids: HashSet<_> = (0..1000).map(|_| request_id()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.strip_prefix("leads-rust-").unwrap().len() == 16));
    }

    #[test]
    fn fractions_spread_from_zero_to_one() {
        let drawn: Vec<_> = (0..1000).map(|_| fraction()).collect();
        assert!(drawn.iter().all(|each| (0.0..1.0).contains(each)));
        assert!(drawn.iter().any(|each| *each < 0.1) && drawn.iter().any(|each| *each > 0.9));
    }
}
