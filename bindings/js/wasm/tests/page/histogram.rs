//! Tests of the one-pass histogram, which is compared with counting in two passes.

use zten_js::page::histogram::Histogram;

/// Counts `numbers`, and compares each interval with a separate count.
fn check(numbers: &[f64]) -> usize {
    let mut histogram = Histogram::default();
    for number in numbers {
        histogram.count(*number);
    }
    let (width, start, counts) = histogram.intervals().unwrap();
    let (least, most) = numbers.iter().fold((f64::MAX, f64::MIN), |(least, most), number| {
        (least.min(*number), most.max(*number))
    });
    assert!(start <= least && least < start + width, "{start} {width} {least}");
    let mut wanted = vec![0_u64; counts.len()];
    for number in numbers {
        wanted[((number - start) / width) as usize] += 1;
    }
    assert_eq!(counts, wanted);
    assert!(most < start + width * counts.len() as f64 || most == f64::MAX);
    counts.len()
}

#[test]
fn histograms_cover_any_range() {
    assert_eq!(check(&[0.0]), 1);
    assert_eq!(check(&[-0.0, 0.0, 0.0]), 1);
    assert_eq!(check(&[1.5; 1000]), 1);
    let mut random = fastrand::Rng::with_seed(1);
    for exponent in [-300, -20, 0, 1, 40, 300] {
        let scale = 10_f64.powi(exponent);
        for shift in [0.0, 1.0, -3.0, 1e3, -1e6] {
            let numbers: Vec<f64> =
                (0..2000).map(|_| (random.f64() * 2.0 - 1.0 + shift) * scale).collect();
            let intervals = check(&numbers);
            assert!((128..=256).contains(&intervals) || shift.abs() > 10.0, "{intervals}");
        }
    }
    check(&(0..300).map(f64::from).collect::<Vec<_>>());
    check(&(0..300).rev().map(f64::from).collect::<Vec<_>>());
}

#[test]
fn the_widest_range_and_the_smallest_numbers() {
    let mut histogram = Histogram::default();
    for number in [f64::MAX, f64::MIN, 0.0, f64::MIN_POSITIVE, 5e-324, -5e-324] {
        histogram.count(number);
    }
    let (width, start, counts) = histogram.intervals().unwrap();
    assert!(width.is_finite() && start.is_finite());
    assert_eq!(counts.iter().sum::<u64>(), 6);
    assert_eq!((counts[0], counts[counts.len() - 1]), (1, 1));
    assert_eq!(check(&[5e-324, 1e-323]), 2);
}
