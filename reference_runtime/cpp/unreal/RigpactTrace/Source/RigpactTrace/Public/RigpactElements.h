// How the engine's types become numbers, float and double variants alike. A trace holds float32.
#pragma once

#include "CoreMinimal.h"

#include "rigpact/stage_calls.hpp"

namespace RigpactTrace
{
template <int32 Count>
struct TNumbers
{
    using Number = float;
    static constexpr int kNumbers = Count;
};
}  // namespace RigpactTrace

// x y z w
template <class Real>
struct rigpact::StageElement<UE::Math::TQuat<Real>> : RigpactTrace::TNumbers<4>
{
    static void put(const UE::Math::TQuat<Real>& Quat, float* Out)
    {
        Out[0] = static_cast<float>(Quat.X), Out[1] = static_cast<float>(Quat.Y), Out[2] = static_cast<float>(Quat.Z), Out[3] = static_cast<float>(Quat.W);
    }
};

// In the engine's unit.
template <class Real>
struct rigpact::StageElement<UE::Math::TVector<Real>> : RigpactTrace::TNumbers<3>
{
    static void put(const UE::Math::TVector<Real>& Vector, float* Out)
    {
        Out[0] = static_cast<float>(Vector.X), Out[1] = static_cast<float>(Vector.Y), Out[2] = static_cast<float>(Vector.Z);
    }
};

template <class Real>
struct rigpact::StageElement<UE::Math::TVector2<Real>> : RigpactTrace::TNumbers<2>
{
    static void put(const UE::Math::TVector2<Real>& Vector, float* Out)
    {
        Out[0] = static_cast<float>(Vector.X), Out[1] = static_cast<float>(Vector.Y);
    }
};

// Degrees: pitch, yaw, roll.
template <class Real>
struct rigpact::StageElement<UE::Math::TRotator<Real>> : RigpactTrace::TNumbers<3>
{
    static void put(const UE::Math::TRotator<Real>& Rotator, float* Out)
    {
        Out[0] = static_cast<float>(Rotator.Pitch), Out[1] = static_cast<float>(Rotator.Yaw), Out[2] = static_cast<float>(Rotator.Roll);
    }
};

// M[0][0] M[0][1] … M[3][3]: the axes are rows.
template <class Real>
struct rigpact::StageElement<UE::Math::TMatrix<Real>> : RigpactTrace::TNumbers<16>
{
    static void put(const UE::Math::TMatrix<Real>& Matrix, float* Out)
    {
        for (int32 Index = 0; Index < 16; ++Index) Out[Index] = static_cast<float>(Matrix.M[Index / 4][Index % 4]);
    }
};

// Rotation x y z w, translation, scale.
template <class Real>
struct rigpact::StageElement<UE::Math::TTransform<Real>> : RigpactTrace::TNumbers<10>
{
    static void put(const UE::Math::TTransform<Real>& Transform, float* Out)
    {
        StageElement<UE::Math::TQuat<Real>>::put(Transform.GetRotation(), Out);
        StageElement<UE::Math::TVector<Real>>::put(Transform.GetTranslation(), Out + 4);
        StageElement<UE::Math::TVector<Real>>::put(Transform.GetScale3D(), Out + 7);
    }
};

namespace RigpactTrace
{
// Of a transform only the rotation.
struct FRotationOf : TNumbers<4>
{
    template <class Real>
    static void put(const UE::Math::TTransform<Real>& Transform, float* Out)
    {
        rigpact::StageElement<UE::Math::TQuat<Real>>::put(Transform.GetRotation(), Out);
    }
};
}  // namespace RigpactTrace
