//! try
fn main() {
    for p in std::env::args().skip(1) {
        let b = std::fs::read(&p).unwrap();
        match zten::Archive::open(&b) {
            Ok(a) => { println!("{p}: ok {:?} {} objects", a.generation(), a.len());
              for o in a.objects() { for c in o.components() { if c.extent().range().end > b.len() as u64 || o.name().is_empty() && false {println!("bad")}; assert!(a.get(o.name()).unwrap().ordinal()==o.ordinal()); let _=(o.shape().collect::<Vec<_>>(), c.digest(), c.element_type(), c.decoded_length(), o.attributes()); } } }
            Err(e) => println!("{p}: {e}"),
        }
    }
}
