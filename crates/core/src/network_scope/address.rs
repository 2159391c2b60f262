//! Which addresses belong to the public internet. Everything else reaches this machine, its neighbours or
//! a service of its provider, and is refused unless the operator names it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressKind {
    /// The public internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network: RFC 1918, carrier-grade NAT, or unique local addresses of IPv6.
    Private,
    /// The local link, which includes the metadata services of cloud providers.
    LinkLocal,
    /// Reserved, for documentation, multicast, or a translation that this module does not know.
    Special,
}

impl AddressKind {
    /// A short description for messages.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Special => "reserved",
        }
    }

    /// Classifies an address. An IPv6 address that a router translates to IPv4 has the kind of that one.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

/// Prefixes of IPv4 that are not public. The first match counts.
const V4: [([u8; 4], u32, AddressKind); 16] = [
    ([127, 0, 0, 0], 8, AddressKind::Loopback),
    // A connection to 0.0.0.0 reaches this machine.
    ([0, 0, 0, 0], 8, AddressKind::Loopback),
    ([10, 0, 0, 0], 8, AddressKind::Private),
    ([172, 16, 0, 0], 12, AddressKind::Private),
    ([192, 168, 0, 0], 16, AddressKind::Private),
    ([100, 64, 0, 0], 10, AddressKind::Private),
    ([169, 254, 0, 0], 16, AddressKind::LinkLocal),
    ([192, 0, 0, 0], 24, AddressKind::Special),
    ([192, 0, 2, 0], 24, AddressKind::Special),
    ([192, 31, 196, 0], 24, AddressKind::Special),
    ([192, 88, 99, 0], 24, AddressKind::Special),
    ([198, 18, 0, 0], 15, AddressKind::Special),
    ([198, 51, 100, 0], 24, AddressKind::Special),
    ([203, 0, 113, 0], 24, AddressKind::Special),
    ([224, 0, 0, 0], 4, AddressKind::Special),
    ([240, 0, 0, 0], 4, AddressKind::Special),
];

fn of_v4(address: Ipv4Addr) -> AddressKind {
    // The metadata service of one large provider, outside the link-local range.
    if address == Ipv4Addr::new(168, 63, 129, 16) {
        return AddressKind::LinkLocal;
    }
    let bits = address.to_bits();
    let is_in = |prefix: [u8; 4], length: u32| {
        (bits ^ Ipv4Addr::from(prefix).to_bits())
            .checked_shr(32 - length)
            .unwrap_or(0)
            == 0
    };
    let found = V4.iter().find(|(prefix, length, _)| is_in(*prefix, *length));
    found.map_or(AddressKind::Public, |(_, _, kind)| *kind)
}

fn of_v6(address: Ipv6Addr) -> AddressKind {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| of_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        _ if address == Ipv6Addr::LOCALHOST || address == Ipv6Addr::UNSPECIFIED => AddressKind::Loopback,
        // IPv4-mapped, and the deprecated IPv4-compatible form.
        (0, 0) if [c, d, e] == [0; 3] && (f == 0xffff || f == 0) => v4(g, h),
        // NAT64 with the well-known prefix.
        (0x0064, 0xff9b) if [c, d, e, f] == [0; 4] => v4(g, h),
        // 6to4.
        (0x2002, _) => v4(b, c),
        (0xfe80..=0xfebf, _) => AddressKind::LinkLocal,
        (0xfc00..=0xfdff, _) => AddressKind::Private,
        // Protocol assignments, which include Teredo and ORCHID, and both ranges for documentation.
        (0x2001, 0..=0x01ff | 0x0db8) | (0x3fff, 0..=0x0fff) => AddressKind::Special,
        (0x2000..=0x3fff, _) => AddressKind::Public,
        _ => AddressKind::Special,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(text: &str) -> AddressKind {
        AddressKind::of(text.parse().expect("an address"))
    }

    #[test]
    fn special_ranges_are_not_public_up_to_their_borders() {
        for (text, expected) in [
            ("127.0.0.1", AddressKind::Loopback),
            ("127.255.255.255", AddressKind::Loopback),
            ("0.0.0.0", AddressKind::Loopback),
            ("10.255.255.255", AddressKind::Private),
            ("172.15.255.255", AddressKind::Public),
            ("172.16.0.0", AddressKind::Private),
            ("172.31.255.255", AddressKind::Private),
            ("172.32.0.0", AddressKind::Public),
            ("192.168.0.1", AddressKind::Private),
            ("100.63.255.255", AddressKind::Public),
            ("100.64.0.0", AddressKind::Private),
            ("100.127.255.255", AddressKind::Private),
            ("100.128.0.0", AddressKind::Public),
            ("169.254.169.254", AddressKind::LinkLocal),
            ("168.63.129.16", AddressKind::LinkLocal),
            ("192.0.2.1", AddressKind::Special),
            ("198.19.255.255", AddressKind::Special),
            ("198.20.0.0", AddressKind::Public),
            ("223.255.255.255", AddressKind::Public),
            ("224.0.0.1", AddressKind::Special),
            ("255.255.255.255", AddressKind::Special),
            ("1.1.1.1", AddressKind::Public),
            ("::1", AddressKind::Loopback),
            ("::", AddressKind::Loopback),
            ("::ffff:10.0.0.1", AddressKind::Private),
            ("::127.0.0.1", AddressKind::Loopback),
            ("64:ff9b::a9fe:a9fe", AddressKind::LinkLocal),
            ("64:ff9b:1::1", AddressKind::Special),
            ("2002:7f00:1::", AddressKind::Loopback),
            ("2002:101:101::", AddressKind::Public),
            ("fe80::1", AddressKind::LinkLocal),
            ("fec0::1", AddressKind::Special),
            ("fd00:ec2::254", AddressKind::Private),
            ("ff02::1", AddressKind::Special),
            ("2001::1", AddressKind::Special),
            ("2001:db8::1", AddressKind::Special),
            ("2001:4860:4860::8888", AddressKind::Public),
            ("3fff::1", AddressKind::Special),
            ("4000::1", AddressKind::Special),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    proptest! {
        /// For all IPv4 addresses, no form that embeds one in IPv6 changes its kind.
        #[test]
        fn an_embedded_address_has_the_kind_of_the_plain_one(bits: u32) {
            let plain = Ipv4Addr::from_bits(bits);
            let [a, b, c, d] = plain.octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            let expected = of_v4(plain);
            for form in [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ] {
                prop_assert_eq!(of_v6(form), expected, "{}", form);
            }
        }
    }
}
